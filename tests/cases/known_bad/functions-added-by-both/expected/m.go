package x

func A() {
	a()
}

func N() {
	n()
}

func M() {
	m()
}

func B() {
	b()
}
