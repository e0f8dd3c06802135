/** Signs that not every font has. */

function Icon({ path }: { path: string }) {
  return (
    <svg
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      aria-hidden="true"
    >
      <path d={path} strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}

export const CopyIcon = () => (
  <Icon path="M6 5.5h6.5a1 1 0 0 1 1 1V13a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V6.5a1 1 0 0 1 1-1zM3 10.5a1 1 0 0 1-1-1V3a1 1 0 0 1 1-1h6.5a1 1 0 0 1 1 1" />
);
export const OpenIcon = () => <Icon path="M2.5 2.5h11v11h-11zM8 5.5v5M5.5 8h5" />;
export const CloseIcon = () => <Icon path="M2.5 2.5h11v11h-11zM5.5 8h5" />;
export const ThemeIcon = () => <Icon path="M13.5 9.6A6 6 0 1 1 6.4 2.5a4.8 4.8 0 0 0 7.1 7.1z" />;
export const FitIcon = () => <Icon path="M2.5 4.5h11v7h-11zM5 8h6" />;
export const WholeIcon = () => <Icon path="M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10" />;
