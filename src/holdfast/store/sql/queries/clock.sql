select holdfast.clock()
