package x

const (
	N = 9
	A = 1
	B = 2
	C = 3
)
