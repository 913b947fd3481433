package timehist

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"ctxan/parse/evidence"
)

// generate writes n rows as perf prints them: a few dozen tasks on two CPUs.
func generate(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString("           time    cpu  task name                       wait time  sch delay   run time\n" +
		"                        [tid/pid]                          (msec)     (msec)     (msec)\n" +
		"--------------- ------  ------------------------------  ---------  ---------  ---------\n")
	last := [2]uint64{1e9, 1e9}
	seen := map[int]uint64{}
	for range n {
		cpu := 0
		if last[1] < last[0] {
			cpu = 1
		}
		run := 1 + rng.Uint64N(500)
		at := last[cpu] + run
		name := "<idle>"
		task := rng.IntN(40)
		if task > 0 {
			name = fmt.Sprintf("worker-%d[%d/%d]", task, 2000+task, 2000)
		}
		var wait uint64
		if s := seen[task]; s > 0 && s < last[cpu] {
			wait = last[cpu] - s
		}
		seen[task] = at
		fmt.Fprintf(&b, "%8d.%06d [%04d]  %-30s %6d.%03d %6d.%03d %6d.%03d \n", at/1e6, at%1e6, cpu, name,
			wait/1e3, wait%1e3, wait/3/1e3, wait/3%1e3, run/1e3, run%1e3)
		last[cpu] = at
	}
	return b.Bytes()
}

func benchmark(b *testing.B, raw []byte) {
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var set evidence.Set
		if err := ReadStream(bytes.NewReader(raw), set.NewBuilder("bench", Format)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadStream(b *testing.B) { benchmark(b, generate(200_000)) }

// BenchmarkTolerant reads the same rows without the fast path.
func BenchmarkTolerant(b *testing.B) {
	raw := generate(200_000)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var set evidence.Set
		r := newReader(set.NewBuilder("bench", Format))
		r.slow = true
		if err := readBlocks(bytes.NewReader(raw), r); err != nil {
			b.Fatal(err)
		}
		r.finish()
	}
}

// BenchmarkFile reads the file that TIMEHIST_FILE names, from the page cache:
// for a comparison with other programs on the same file.
func BenchmarkFile(b *testing.B) {
	name := os.Getenv("TIMEHIST_FILE")
	if name == "" {
		b.Skip("TIMEHIST_FILE names no file")
	}
	st, err := os.Stat(name)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(st.Size())
	b.ReportAllocs()
	for b.Loop() {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		var set evidence.Set
		err = ReadStream(f, set.NewBuilder(name, Format))
		f.Close()
		if err != nil {
			b.Fatal(err)
		}
	}
}
