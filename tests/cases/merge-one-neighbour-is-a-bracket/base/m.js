f({
  one: 1,
})
