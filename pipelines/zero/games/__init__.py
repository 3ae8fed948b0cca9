"""The games of a round: ordered, played in tasks, gathered, and told in numbers.

| module  | does                                                       |
| ------- | ---------------------------------------------------------- |
| orders  | what the games of a round are played with                  |
| tasks   | the games of one part, in any process                      |
| gather  | hands tasks out, and takes games in                        |
| resign  | when to resign, by games that are played on                |
| tally   | what the games of a round were like                        |
"""
