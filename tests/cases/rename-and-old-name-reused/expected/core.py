from engine import *
