# headers.py FROM TO: gives an ELF file the program headers of another, which
# objcopy --only-keep-debug changes: they say where a mapping's code belongs.
import struct, sys
a, b = open(sys.argv[1], "rb").read(), bytearray(open(sys.argv[2], "rb").read())
at, to = struct.unpack_from("<Q", a, 32)[0], struct.unpack_from("<Q", b, 32)[0]
n = struct.unpack_from("<H", a, 54)[0] * struct.unpack_from("<H", a, 56)[0]
b[to:to + n] = a[at:at + n]
open(sys.argv[2], "wb").write(b)
