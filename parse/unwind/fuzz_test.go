package unwind

import (
	"debug/elf"
	"path/filepath"
	"testing"

	"ctxan/testdata/shared"
)

// FuzzUnwind unwinds with damaged unwind tables, stacks and registers: nothing
// panics, no chain is longer than MaxFrames, and memory stays in its bounds.
func FuzzUnwind(f *testing.F) {
	x86, arm := fileX86(), fileARM64()
	stack := words(a0+0x20, a0+0x30, stackAt+40, a0+0x410, 0, stackAt+64, a0+0x20, noCFI, stackAt)
	f.Add(x86.eh, []byte(nil), []byte(nil), stack, uint64(a0+1), uint64(stackAt+16), false)
	f.Add(arm.eh, []byte(nil), []byte(nil), stack, uint64(a0+0x110), uint64(stackAt), true)
	f.Add([]byte(nil), []byte(nil), table(false, cieOf(false, 4, "", 16, x86CIE...), func(at uint32) []byte {
		return fdeOf(false, false, at, 0, codeAt, 0x800, cfaDefExpr, 3, 0x77, 8, 0x06, cfaExpr, 3, 2, 0x77, 16, cfaValExpr, 6, 5, 0x76, 8, 0x12, 0x1b, 0x2f)
	}), stack, uint64(a0+1), uint64(stackAt+16), false)
	for _, name := range []string{"chains", "objects", "vdso"} {
		o := program(f, name)
		var parts [3][]byte
		for i, s := range []string{".eh_frame", ".eh_frame_hdr", ".debug_frame"} {
			r, _, err := o.Section(s, maxScan)
			if err != nil || r == nil {
				continue
			}
			parts[i] = make([]byte, r.Size())
			if _, err := r.ReadAt(parts[i], 0); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(parts[0], parts[1], parts[2], stack, uint64(a0+1), uint64(stackAt+16), false)
	}
	f.Fuzz(func(t *testing.T, eh, hdr, debug, stack []byte, pc, fp uint64, isARM bool) {
		if len(eh) > 0x4000 || len(hdr) > 0x2000 || len(debug) > 0x4000 || len(stack) > 1<<16 {
			return
		}
		b, arch := built{machine: elf.EM_X86_64, code: codeX86(), eh: eh, hdr: hdr, debug: debug}, X86_64
		set := map[uint8]uint64{16: pc, 6: fp}
		if isARM {
			b.machine, arch = elf.EM_AARCH64, ARM64
			set = map[uint8]uint64{32: pc, 29: fp, 30: pc + 16}
		}
		u, space := b.unwinder(t, "/bin/built")
		for i := range uint64(8) {
			regs := regsOf(arch, set)
			regs.set(specs[arch].pc, pc+0x80*i)
			addrs, stop := u.Unwind(regs, Stack{Base: stackAt, Data: stack}, space, nil)
			if len(addrs) == 0 || len(addrs) > MaxFrames || stop.Reason >= NumReasons {
				t.Fatalf("%d frames, %+v", len(addrs), stop)
			}
		}
		if u.rowBytes > maxRowBytes || u.budget.left < 0 {
			t.Fatalf("%d bytes of rows, %d left for tables", u.rowBytes, u.budget.left)
		}
	})
}

// BenchmarkUnwind unwinds recorded samples whose rows are known: once per
// sample, with the bytes of its stack.
func BenchmarkUnwind(b *testing.B) {
	for _, name := range []string{"chains", "objects", "switches"} {
		b.Run(name, func(b *testing.B) {
			rec := readRecording(b, shared.Gunzip(b, filepath.Join(testdata, name+".data.gz")))
			rec.identify()
			u := New(folder{tb: b})
			var spaces []Areas
			var frames, bytes int
			buf := make([]uint64, 0, MaxFrames)
			for i := range rec.samples {
				s := &rec.samples[i]
				spaces = append(spaces, rec.space(u, s))
				buf, _ = s.unwind(u, spaces[i], buf)
				frames += len(buf)
				bytes += len(s.stack)
			}
			b.SetBytes(int64(bytes / len(rec.samples)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				i := n % len(rec.samples)
				n++
				buf, _ = rec.samples[i].unwind(u, spaces[i], buf)
			}
			b.ReportMetric(float64(frames)/float64(len(rec.samples)), "frames/op")
		})
	}
}

// BenchmarkRow makes rows anew: what an address costs when it is first seen.
func BenchmarkRow(b *testing.B) {
	o := program(b, "libc.so.6")
	u := New(memory{o})
	obj := u.Object(mappingOf("libc.so.6"))
	pcs := []uint64{0x27249, 0x3fd35, 0x58ca1, 0x7e757, 0xd3e52, 0xcf545, 0x85f16, 0x891f4}
	for _, pc := range pcs {
		if _, why := obj.row(pc, X86_64); why != Complete {
			b.Fatal(why)
		}
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if obj.make(pcs[n%len(pcs)]) == badRow {
			b.Fatal("bad row")
		}
		n++
	}
}
