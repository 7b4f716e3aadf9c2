require "json"
require_relative "lib/own"
autoload :Later, "later"

module Outer
  LIMIT = 3
  class Shape < Base
    attr_accessor :sides
    def initialize(n)
      @n = "#{n} end"
    end
    def area = 1
    def self.make; new; end
    class << self
      def hidden; end
    end
    def ==(other)
      text = <<~EOS
        def not_this
        end
      EOS
    end
    def query?; %w[end def]; end
    alias size area
  end
end
class Outer::Later
  def go; end
end
def top(x) = x / 2
