class A {
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
