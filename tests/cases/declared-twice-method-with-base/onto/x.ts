class A {
  n() {
    nine();
  }

  a() {
    one();
  }

  b() {
    two();
  }

  c() {
    three();
  }
}
