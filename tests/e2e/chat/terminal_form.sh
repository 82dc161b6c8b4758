# On a terminal: a question with a form is asked field by field, and each field is validated when it is entered.
command -v python3 >/dev/null || skips "python3 is not installed"
cat >form.yaml <<'Y'
version: "1.0"
agent: {name: form}
channels: [{name: messages, type: reduce, reducer: messages}, {name: given, type: last_value}]
nodes:
  - id: order
    type: ask
    config:
      question: "What may it be?"
      output_key: given
      answer_schema:
        anyOf:
          - type: object
            required: [name, size, mail]
            properties:
              name: {type: string, title: Your name, minLength: 2}
              size: {type: string, enum: [s, m, l], enumNames: [small, medium, large]}
              mail: {type: string, format: email, description: Where the bill goes.}
              cups: {type: integer, minimum: 1, maximum: 9, default: 2}
              milk: {type: boolean}
              extras: {type: array, items: {type: string, enum: [cinnamon, honey]}, maxItems: 2}
              grams: {type: integer, enum: [20, 10, 2]}
              note: {anyOf: [{type: string, minLength: 3}, {type: "null"}]}
              tables: {type: array, items: {type: integer}}
          - {type: "null"}
  - {id: answer, type: set, config: {values: {messages: '{"type": "ai", "content": "got " + (state.given == null ? "nothing" : state.given.name + "," + state.given.size + "," + state.given.mail + "," + string(state.given.cups) + "," + string(state.given.milk) + "," + state.given.extras.join("+") + "," + string(state.given.grams) + "," + string(state.given.note) + "," + string(state.given.tables[1]))}'}}}
edges: [{from: START, to: order}, {from: order, to: answer}, {from: answer, to: END}]
Y
terminal "$TENON" chat form.yaml <<'T'
wait > 
send order
wait What may it be?
wait [a]nswer, [d]ecline?
send x
wait answer a or d
send a
wait Your name: 
send
wait a value is required
wait Your name: 
send A
wait    
wait Your name: 
send Ada
wait 1  s  small
wait 3  l  large
wait size: 
send 4
wait expected a choice of the list, or its number
wait size: 
send 2
wait Where the bill goes.
wait mail: 
send nowhere
wait mail: 
send ada@example.org
wait cups [2]: 
send 10
wait cups [2]: 
send
wait milk (y/n) (optional): 
send perhaps
wait expected y or n
wait milk (y/n) (optional): 
send Y
wait extras (optional): 
send honey, sugar
wait expected choices of the list, separated by commas
wait extras (optional): 
send honey, 1
wait 3  2
wait grams (optional): 
send 2
wait note (optional): 
send no
wait note (optional): 
send hot
wait tables (optional): 
send 4, 5
wait got Ada,m,ada@example.org,2,true,honey+cinnamon,2,hot,5
wait > 
send order
wait [d]ecline?
send d
wait got nothing
wait > 
send order
wait [d]ecline?
send a
wait Your name: 
key C-d
wait (cancelled
wait > 
key C-d
end
T
expect_code 0
