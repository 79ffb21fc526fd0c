class A:
    async def f(self):
        one()
        two()
        three()
