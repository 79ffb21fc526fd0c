CREATE TABLE t (
  n int,
  a int,
  b int,
  c int
);
