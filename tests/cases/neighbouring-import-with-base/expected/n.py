import a
import b
import c, d

x = a
