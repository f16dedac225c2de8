"""A paid booking issues its invoice and sends its e-mails, each in a job of its own."""
