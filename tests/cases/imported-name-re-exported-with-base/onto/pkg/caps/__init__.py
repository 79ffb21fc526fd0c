from pkg.caps.new import *
