int load(struct buf *b)
{
	int n = 0;
	n++;
	n++;
	n++;
	step(b);
	n--;
	n--;
	n--;
	return n;
}

int save(struct buf *b)
{
	int n = 0;
	n += 2;
	n += 2;
	n += 2;
	step(b);
	n--;
	n--;
	n--;
	return n;
}
