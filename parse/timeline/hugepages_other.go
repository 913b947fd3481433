//go:build !linux

package timeline

func adviseHuge([]chunk) {}
