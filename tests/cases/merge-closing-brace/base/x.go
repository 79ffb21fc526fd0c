package x

func A() {
	a()
	z()
}
