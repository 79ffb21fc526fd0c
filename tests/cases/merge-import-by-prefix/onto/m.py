import logging

from app.core import base
from app.core import config
from app.core import models

x = 1
