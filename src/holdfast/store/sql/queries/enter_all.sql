select holdfast.enter('*');
