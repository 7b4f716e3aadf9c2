{-# LANGUAGE GADTs #-}
module App.Core (run) where

import Data.List
import qualified Data.Map as M
import Data.Set (Set, insert)
import Prelude hiding (lookup)

{- nested {- comment -} f = 1 -}
data Shape a = Circle Int | Rect { width :: Int, height' :: Int } deriving Show
newtype Id = Id { unId :: Int }
type Name = String
class Draw a where
  draw :: a -> Int
instance Draw (Shape a) where
  draw x = 2
run :: Int -> Int
run 0 = 1
run x = y where y = x
a <+> b = a -- an operator
limit = 3
