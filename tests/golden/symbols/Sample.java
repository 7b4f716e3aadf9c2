package com.example.app;

import java.util.List;
import java.util.*;
import static java.lang.Math.max;

@Deprecated
public abstract class Sample<T extends Comparable<T>> extends Base implements Runnable {
    private int x, y = 1;
    public static final String NAME = "}";
    public Sample() { super(); }
    @Override
    public <R> R run(int a) throws Exception { return new Object() { void anon() {} }; }
    protected abstract void later();
    static class Nested { void inner() {} }
    enum Color {
        RED, GREEN("g") { @Override int code() { return 2; } };
        int code() { return 1; }
    }
    interface Shape { int area(); default void draw() {} int MAX = 3; }
    record Point(int x, int y) { Point { } static Point zero() { return null; } }
    @interface Marker { String value() default ""; }
    static { init(); }
}
