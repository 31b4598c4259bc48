from aerolog.transport.concurrent.agent import Agent

class TimedAgent(Agent):
    due_ns: int
