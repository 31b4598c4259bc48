from aerolog.transport.concurrent.agent import Agent

class PausingAgent(Agent):
    due_ns: int
