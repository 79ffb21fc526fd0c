import logging

from tool.old import gone_one
from tool.old import gone_two

x = 1
