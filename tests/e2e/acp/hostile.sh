# A client that sends mutated parameters, wrong orders and answers of any form.
script hostile
