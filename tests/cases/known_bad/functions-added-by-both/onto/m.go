package x

func A() {
	a()
}

func N() {
	n()
}

func B() {
	b()
}
