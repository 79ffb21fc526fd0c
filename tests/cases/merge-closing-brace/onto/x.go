package x

func A() {
	a()
}

func Z() {
	z()
}
