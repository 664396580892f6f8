"""The entry point of the Hugging Face Space: the web app of the metric in `anls`."""

import gradio as gr

from anls_eval.space import answer

with gr.Blocks(title="ANLS", analytics_enabled=False) as demo:
    gr.Markdown("# ANLS\nThe score of DocVQA, ST-VQA and InfographicVQA, in every variant that leaderboards compute.")
    answer.build()

if __name__ == "__main__":
    # Of the bold letters of gradio's own font, only A and B come with gradio.
    demo.launch(theme=gr.themes.Default(font="system-ui, sans-serif"), run_history=False)
