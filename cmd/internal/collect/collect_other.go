//go:build !linux

package collect

import "context"

type hooks struct{}

// Run returns ErrUnsupported.
func Run(context.Context, Options) (*Result, error) { return nil, ErrUnsupported }
