module.exports = {
  n: 9,
  a: 1,
  b: 2,
  c: 3,
};
