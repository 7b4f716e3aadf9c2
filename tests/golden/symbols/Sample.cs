using System;
using static System.Math;
using Alias = System.Collections.Generic.List<int>;
global using System.Linq;

namespace App.Core
{
    [Serializable]
    public class Widget<T> : Base where T : class, new()
    {
        private int x, y = 1;
        public const int Limit = 3;
        public string Name { get; set; } = $"a{1}b" + @"c:\";
        public Widget(int q) : base(q) { }
        ~Widget() { }
        public void Run(int a) => Go(a);
        public static Widget<T> operator +(Widget<T> a, Widget<T> b) { return a; }
        public event EventHandler Changed;
        public int this[int i] => 1;
        void Outer() { void Local() { } }
        enum Mode { On, Off = 2 }
    }
    public interface IShape { int Area(); }
    public struct Vec { public int X; }
    public record Person(string Name);
    public delegate void Handler(int x);
}
