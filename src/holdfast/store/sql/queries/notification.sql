select n.state from holdfast.notification n where n.id = %(id)s
