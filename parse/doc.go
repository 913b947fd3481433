// Package parse opens captures: it unpacks and walks what it is given, tells
// each file's format from its content and never from its name, lets the
// format's package read it, and returns one evidence.Set.
package parse
