int f(int x)
{
	switch (x) {
	case N:
		nine();
		break;
	case A:
		one();
		break;
	case B:
		two();
		break;
	case C:
		three();
		break;
	}
}
