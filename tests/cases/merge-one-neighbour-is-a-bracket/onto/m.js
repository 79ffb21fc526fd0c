f({
  other_thing_entirely: 77,
})
