package srcline

// address returns the address that a value stands for.
func (u *unit) address(v value) (uint64, bool) {
	switch v.form {
	case formAddr:
		return v.u, true
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return u.indexed(v.u)
	}
	return 0, false
}

// indexed returns an address of the unit's table in .debug_addr.
func (u *unit) indexed(i uint64) (uint64, bool) {
	s, err := u.f.section("addr")
	if err != nil || u.root.addrBase.form == 0 && u.version >= 5 || i >= s.size {
		return 0, false
	}
	c := cursor{b: s.bytes(u.root.addrBase.u+i*uint64(u.addrSize), int(u.addrSize)), order: u.order}
	a := c.uint(int(u.addrSize))
	return a, !c.bad
}

// text returns the string that a value stands for. in is what strings in place
// are in.
func (u *unit) text(v value, in []byte) string {
	switch v.form {
	case formString:
		c := cursor{b: in, i: int(min(v.u, uint64(len(in))))}
		b := c.str()
		return string(b[:min(len(b), maxName)])
	case formStrp:
		return u.f.str("str", v.u)
	case formLineStrp:
		return u.f.str("line_str", v.u)
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		return u.indexedText(v.u)
	case formGNUStrpAlt, formStrpSup:
		if u.f.Alt != nil {
			return u.f.Alt.str("str", v.u)
		}
	}
	return ""
}

// indexedText returns a string of the unit's table in .debug_str_offsets.
func (u *unit) indexedText(i uint64) string {
	s, err := u.f.section("str_offsets")
	if err != nil || i >= s.size {
		return ""
	}
	n := u.offSize()
	c := cursor{b: s.bytes(u.root.strBase.u+i*uint64(n), n), order: u.order}
	off := c.uint(n)
	if c.bad {
		return ""
	}
	return u.f.str("str", off)
}

func (f *File) str(section string, off uint64) string {
	s, err := f.section(section)
	if err != nil {
		return ""
	}
	return s.str(off)
}

// rootString returns a string of the root entry.
func (u *unit) rootString(v value) string {
	_, b, err := u.entry(u.first)
	if err != nil {
		return ""
	}
	return u.text(v, b)
}

// ref returns the unit and the offset that a reference leads to.
func (u *unit) ref(v value) (*unit, uint64, error) {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		return u, u.off + v.u, nil
	case formRefAddr:
		if v.u >= u.off && v.u < u.end {
			return u, v.u, nil
		}
		of, err := u.f.unitOf(v.u)
		return of, v.u, err
	case formGNURefAlt, formRefSup4, formRefSup8:
		if u.f.Alt != nil {
			of, err := u.f.Alt.unitOf(v.u)
			return of, v.u, err
		}
	}
	return nil, 0, errDamaged
}
