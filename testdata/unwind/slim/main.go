// Slim writes an ELF file with nothing left in it but its headers, its
// build-id and its unwind tables, where they were; the rest is zero, so that it
// packs well. Usage: slim FILE > OUT
package main

import (
	"bytes"
	"debug/elf"
	"log"
	"os"
	"slices"
)

func main() {
	in, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(in))
	if err != nil {
		log.Fatal(err)
	}
	out := make([]byte, len(in))
	keep := func(off, size uint64) { copy(out[off:off+size], in[off:]) }
	const headers = 64 + 56*64 // the file's, and those of up to 64 segments
	keep(0, min(headers, uint64(len(in))))
	names := []string{".eh_frame", ".eh_frame_hdr", ".debug_frame", ".note.gnu.build-id", ".shstrtab"}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && slices.Contains(names, s.Name) {
			keep(s.Offset, s.FileSize)
		}
	}
	shoff := uint64(in[0x28]) | uint64(in[0x29])<<8 | uint64(in[0x2a])<<16 | uint64(in[0x2b])<<24
	keep(shoff, uint64(len(f.Sections))*64)
	if _, err := os.Stdout.Write(out); err != nil {
		log.Fatal(err)
	}
}
