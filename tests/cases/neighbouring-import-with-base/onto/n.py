import a
import b
import c

x = a
