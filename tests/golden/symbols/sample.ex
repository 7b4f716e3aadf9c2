defmodule App.Core do
  @moduledoc """
  def not_this do
  """
  use GenServer
  alias App.{One, Two}
  alias App.Long, as: Short
  import Enum
  require Logger

  @limit 3
  defstruct [:a]

  def run(x) when x > 1 do
    x
  end

  def run(_), do: ~s(end)
  defp hidden, do: 1

  defmacro make(x) do
    quote do: unquote(x)
  end

  defmodule Inner do
    def deep, do: 1
  end
end

defprotocol Draw do
  def draw(x)
end

defimpl Draw, for: App.Core do
  def draw(_), do: 1
end
