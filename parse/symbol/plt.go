package symbol

import (
	"debug/elf"
	"encoding/binary"
	"slices"
)

// pltSuffix is what perf and objdump add to the name of the function that an
// entry of the procedure linkage table calls.
const pltSuffix = "@plt"

// maxPLT bounds the relocations that are read.
const maxPLT = 1 << 20

// pltTable names the entries of the PLT, nil when there is none. They have no
// symbols: each jumps through a slot of the global offset table, and the
// relocation of that slot has the name.
func (f *elfFile) pltTable(lim Limits) *table {
	slots := f.slots(lim)
	if len(slots) == 0 {
		return nil
	}
	t := &table{names: &names{blob: []byte{0}}, limit: lim.NameBytes}
	add := func(addr, size uint64, name string) {
		e := entry{addr: addr, name: uint32(len(t.names.blob))}
		e.setLength(size)
		t.syms = append(t.syms, e)
		t.names.blob = append(append(append(t.names.blob, name...), pltSuffix...), 0)
	}
	for _, name := range []string{".plt", ".plt.sec", ".plt.got"} {
		if s := f.named(name); s != nil && s.typ != elf.SHT_NOBITS {
			f.pltSection(s, name, slots, add)
		}
	}
	if len(t.syms) == 0 {
		return nil
	}
	t.finish(func(addr uint64) uint64 { return addr })
	return t
}

// slot is a place in the global offset table that holds a function's address.
type slot struct {
	name string
	jump bool // of a call that is bound at the first time: in the order of .plt
}

// slots reads the relocations of functions, by the address of their slot.
func (f *elfFile) slots(lim Limits) map[uint64]slot {
	dyn := slices.IndexFunc(f.secs, func(s section) bool { return s.typ == elf.SHT_DYNSYM })
	if dyn < 0 || int64(f.secs[dyn].link) >= int64(len(f.secs)) {
		return nil
	}
	out, total := map[uint64]slot{}, 0
	for i := range f.secs {
		s := &f.secs[i]
		if s.typ != elf.SHT_RELA && s.typ != elf.SHT_REL || int64(s.link) != int64(dyn) {
			continue
		}
		f.relocations(s, func(off uint64, typ uint32, sym uint64, _ int64) bool {
			if jump := f.isJump(typ); jump || f.isGlob(typ) {
				if name := f.dynName(&f.secs[dyn], sym, lim); name != "" {
					out[off] = slot{name, jump}
				}
			}
			total++
			return total < maxPLT
		})
	}
	return out
}

// relocations goes through a section of relocations.
func (f *elfFile) relocations(s *section, yield func(off uint64, typ uint32, sym uint64, addend int64) bool) {
	word := uint64(4)
	if f.wide {
		word = 8
	}
	step := 2 * word
	if s.typ == elf.SHT_RELA {
		step = 3 * word
	}
	buf := make([]byte, 1024*step)
	for at := uint64(0); at+step <= s.size; {
		b := buf[:min(uint64(len(buf)), (s.size-at)/step*step)]
		if !f.inFile(s.off+at, uint64(len(b))) {
			return
		}
		if _, err := f.r.ReadAt(b, int64(s.off+at)); err != nil {
			return
		}
		at += uint64(len(b))
		for ; len(b) > 0; b = b[step:] {
			off, info, addend := f.word(b), f.word(b[word:]), int64(0)
			if step == 3*word {
				addend = int64(f.word(b[2*word:]))
			}
			typ, sym := uint32(info), info>>32
			if !f.wide {
				typ, sym = uint32(info&0xff), info>>8
			}
			if !yield(off, typ, sym, addend) {
				return
			}
		}
	}
}

// word reads a number as large as an address.
func (f *elfFile) word(b []byte) uint64 {
	if f.wide {
		return f.order.Uint64(b)
	}
	return uint64(f.order.Uint32(b))
}

// dynName returns the name of a dynamic symbol.
func (f *elfFile) dynName(s *section, sym uint64, lim Limits) string {
	step := uint64(sym32Bytes)
	if f.wide {
		step = sym64Bytes
	}
	str := &f.secs[s.link]
	if sym == 0 || sym >= s.size/step || !f.inFile(str.off, str.size) {
		return ""
	}
	b, err := f.data(s.off+sym*step, 4, 4)
	if err != nil || uint64(f.order.Uint32(b)) >= str.size {
		return ""
	}
	off := uint64(f.order.Uint32(b))
	n := names{r: f.r}
	if str.off+off < 1<<32 {
		return n.at(uint32(str.off+off), int(min(uint64(lim.NameBytes), str.size-off)))
	}
	return ""
}

// isJump and isGlob tell the relocations of slots that .plt and .plt.got use.
func (f *elfFile) isJump(typ uint32) bool {
	switch f.machine {
	case elf.EM_X86_64:
		return typ == uint32(elf.R_X86_64_JMP_SLOT)
	case elf.EM_AARCH64:
		return typ == uint32(elf.R_AARCH64_JUMP_SLOT)
	case elf.EM_386:
		return typ == uint32(elf.R_386_JMP_SLOT)
	case elf.EM_ARM:
		return typ == uint32(elf.R_ARM_JUMP_SLOT)
	case elf.EM_RISCV:
		return typ == uint32(elf.R_RISCV_JUMP_SLOT)
	case elf.EM_S390:
		return typ == uint32(elf.R_390_JMP_SLOT)
	}
	return false
}

func (f *elfFile) isGlob(typ uint32) bool {
	switch f.machine {
	case elf.EM_X86_64:
		return typ == uint32(elf.R_X86_64_GLOB_DAT)
	case elf.EM_AARCH64:
		return typ == uint32(elf.R_AARCH64_GLOB_DAT)
	}
	return false
}

// pltSection names the entries of one section: by the slot that their code
// jumps through, or, on machines whose code is not read here, by their order.
func (f *elfFile) pltSection(s *section, name string, slots map[uint64]slot, add func(addr, size uint64, name string)) {
	const maxPLTBytes = 16 << 20
	b, err := f.data(s.off, s.size, maxPLTBytes)
	if err != nil {
		return
	}
	switch f.machine {
	case elf.EM_X86_64:
		pltX86(b, s.addr, slots, add)
	case elf.EM_AARCH64:
		pltARM64(b, s.addr, slots, add)
	default:
		if name == ".plt" {
			f.pltOrder(s, slots, add)
		}
	}
}

// pltX86 reads entries of 8 or 16 bytes, each with one indirect jump: ff 25 and
// the distance from its end to the slot.
func pltX86(b []byte, addr uint64, slots map[uint64]slot, add func(addr, size uint64, name string)) {
	at := func(i int) (slot, bool) {
		if i+6 > len(b) || b[i] != 0xff || b[i+1] != 0x25 {
			return slot{}, false
		}
		s, ok := slots[addr+uint64(i)+6+uint64(int64(int32(binary.LittleEndian.Uint32(b[i+2:]))))]
		return s, ok
	}
	const small, large = 8, 16
	for i := 0; i+small <= len(b); {
		size := large
		if _, ok := at(i); ok && i+small+2 <= len(b) && b[i+6] == 0x66 && b[i+7] == 0x90 {
			size = small // .plt.got without branch protection
		}
		for j := i; j < i+size && j < len(b); j++ {
			if s, ok := at(j); ok {
				add(addr+uint64(i), uint64(size), s.name)
				break
			}
		}
		i += size
	}
}

// pltARM64 reads entries of 16 or, with branch protection, 24 bytes: adrp x16,
// page; ldr x17, [x16, offset].
func pltARM64(b []byte, addr uint64, slots map[uint64]slot, add func(addr, size uint64, name string)) {
	const bti, nop = 0xd503245f, 0xd503201f
	for i := 0; i+16 <= len(b); i += 4 {
		adrp, ldr := binary.LittleEndian.Uint32(b[i:]), binary.LittleEndian.Uint32(b[i+4:])
		if adrp&0x9f00001f != 0x90000010 || ldr&0xffc003ff != 0xf9400211 {
			continue
		}
		pages := int64(int32(adrp<<8)>>13<<2|int32(adrp>>29&3)) << 12
		s, ok := slots[(addr+uint64(i))&^0xfff+uint64(pages)+uint64(ldr>>10&0xfff)*8]
		if !ok {
			continue
		}
		from, size := i, 16
		if i >= 4 && binary.LittleEndian.Uint32(b[i-4:]) == bti {
			from, size = i-4, 24
		} else if i+20 <= len(b) && binary.LittleEndian.Uint32(b[i+16:]) == nop {
			size = 24 // with pointer authentication
		}
		add(addr+uint64(from), uint64(size), s.name)
	}
}

// pltOrder takes entries to be in the order of the relocations, as perf does.
//
// Layout: get_plt_sizes in the kernel's tools/perf/util/symbol-elf.c.
func (f *elfFile) pltOrder(s *section, slots map[uint64]slot, add func(addr, size uint64, name string)) {
	head, size := s.entsiz, s.entsiz
	switch f.machine {
	case elf.EM_ARM:
		head, size = 20, 12
	case elf.EM_RISCV:
		head, size = 32, 16
	}
	if size == 0 || size > 64 {
		return
	}
	var at []uint64
	for a, sl := range slots {
		if sl.jump {
			at = append(at, a)
		}
	}
	slices.Sort(at) // slots are made in the order of the entries
	for i, a := range at {
		from := head + uint64(i)*size
		if from+size > s.size {
			return
		}
		add(s.addr+from, size, slots[a].name)
	}
}
