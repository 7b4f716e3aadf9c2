package sample

import "fmt"
import (
	str "strings"
	. "math"
	_ "embed"
)

const Single = 1
const (
	First = iota
	second
)

var a, B int
var table = map[string]struct{ x int }{"a": {1}}

type (
	Shape interface {
		fmt.Stringer
		Area() float64
	}
	Alias = int
)
type Point[T any] struct {
	X, Y T `json:"x"`
	*Embedded
	inner struct{ deep int }
	call func(a int) error
}

func (p *Point[T]) Move(dx T) (struct{ ok bool }, error) {
	type local struct{ z int }
	return struct{ ok bool }{true}, nil
}
func Generic[K comparable, V any](m map[K]V) { _ = func() {} }
func external(x int) int
