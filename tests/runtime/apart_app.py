"""An app whose tasks are declared in another module, which imports this one: the usual way to avoid a circle."""

from holdfast import Holdfast

app = Holdfast()
