#!/bin/sh
# Builds the programs jobs-* of this folder and what llvm-symbolizer says about
# each address of their code (jobs-*.tsv; addresses that say the same as the one
# before are left out). Made with gcc 12.2, clang 14, binutils 2.40, LLVM 14.
set -eu
cd "$(dirname "$0")"
flags="-O2 -g -nostdlib -static -ffreestanding -fno-asynchronous-unwind-tables -fno-stack-protector
	-fdebug-prefix-map=$PWD=/src -Wl,--build-id -Wl,-z,noseparate-code"
for v in 4 5; do
	gcc $flags -gdwarf-$v -o ../jobs-gcc-dwarf$v start.c jobs.c
	clang-14 $flags -gdwarf-$v -o ../jobs-clang-dwarf$v start.c jobs.c
done
gcc $flags -gdwarf-4 -gdwarf64 -o ../jobs-gcc-dwarf64 start.c jobs.c
for f in ../jobs-*; do
	case $f in *.tsv) continue ;; esac
	chmod 644 "$f"
	set -- $(readelf -SW "$f" | sed -n 's/.* \.text *PROGBITS *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\) .*/\1 \2/p')
	i=$((0x$1))
	end=$((i + 0x$2))
	while [ $i -lt $end ]; do
		printf '0x%x\n' $i
		i=$((i + 1))
	done | llvm-symbolizer -a -e "$f" --functions=linkage | awk '
		/^0x/ { addr = $1; said = ""; next }
		/^$/ { if (said != last) print addr said; last = said; next }
		{ fn = $0; getline place; sub(/:[0-9]*$/, "", place); said = said "\t" fn " " place }' >"$f.tsv"
done
