from pytest_soclab.public import Agent as Agent
from pytest_soclab.public import Bench as Bench
from pytest_soclab.public import Case as Case
from pytest_soclab.public import Claim as Claim
from pytest_soclab.public import Finding as Finding
from pytest_soclab.public import Oracle as Oracle
from pytest_soclab.public import Registry as Registry
from pytest_soclab.public import Soc as Soc
from pytest_soclab.public import Step as Step
from pytest_soclab.public import Tool as Tool
from pytest_soclab.public import ToolResult as ToolResult
from pytest_soclab.public import ToolSpec as ToolSpec

__version__: str
