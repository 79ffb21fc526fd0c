import a
import c

x = a
