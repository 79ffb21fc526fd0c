package x

func A() {
	a()
}

func B() {
	b()
}
