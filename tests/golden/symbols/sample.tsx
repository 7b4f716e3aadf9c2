import React, { useState } from "react";

type Props = { title: string };

export const Card = ({ title }: Props) => {
  return <div className="it's">Don't {title} // no comment {"}"}</div>;
};
export function Page(): JSX.Element {
  return (
    <>
      <Card title="a" />
      {[1].map((x) => <b key={x}>{x}</b>)}
    </>
  );
}
const generic = <T,>(x: T) => x;
class View extends React.Component<Props> { render() { return <p/>; } }
