package main

import (
	"io"
	"os"

	"ctxan/analyze"
)

// scales are the tables that --cost and --grades give, or the customary ones.
func (f *flags) scales() (*analyze.Scales, error) {
	s := analyze.DefaultScales()
	err := readTable("--cost", f.cost, func(r io.Reader) (err error) {
		s.Cost, err = analyze.ReadCost(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = readTable("--grades", f.grades, func(r io.Reader) (err error) {
		s.Grades, err = analyze.ReadGrades(r)
		return err
	})
	return s, err
}

func readTable(flag, name string, read func(io.Reader) error) error {
	if name == "" {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return &usageError{flag + " " + name + ": " + reason(err), "give a file that is there"}
	}
	defer file.Close()
	if err := read(file); err != nil {
		return &usageError{flag + " " + name + ": " + err.Error(), "see README.md, How the figures are computed, for its form"}
	}
	return nil
}
