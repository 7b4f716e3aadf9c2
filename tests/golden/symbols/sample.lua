local json = require("json")
local M = {}

function M.area(self) return 1 end
function M:draw()
  local text = [[ function not_this() end ]]
  return function() end
end
local function helper() --[[ end ]] end
function top(x)
  if x then return 1 end
end
M.later = function() end
M.table = { key = function() end, plain = 1 }
LIMIT = 3
return M
